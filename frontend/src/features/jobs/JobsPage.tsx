export default function JobsPage() {
  return <div className="page" />;
}
