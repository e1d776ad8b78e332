export const home = {
  "home.jobs": "Running jobs",
  "home.allJobs": "All jobs",
  "home.runs": "Recent runs",
  "home.allExperiments": "All experiments",
  "home.submit": "Submit a workload",
  "home.submitHint": "Contrail runs the command of a YAML file, keeps its logs and measures the machine.",
  "home.log": "Log from your own Python",
  "home.logHint": "Any MLflow client works as it is.",
} as const;
