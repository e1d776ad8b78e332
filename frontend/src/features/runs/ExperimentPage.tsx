export default function ExperimentPage() {
  return <div className="page" />;
}
