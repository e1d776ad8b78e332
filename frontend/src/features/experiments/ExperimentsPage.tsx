export default function ExperimentsPage() {
  return <div className="page" />;
}
