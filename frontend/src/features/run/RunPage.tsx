export default function RunPage() {
  return <div className="page" />;
}
