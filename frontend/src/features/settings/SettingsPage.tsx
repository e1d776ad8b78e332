export default function SettingsPage() {
  return <div className="page" />;
}
