export default function JobPage() {
  return <div className="page" />;
}
