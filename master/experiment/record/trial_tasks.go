package record

// TrialTasks holds the owner and the tasks of a trial.
type TrialTasks struct {
	Experiment int32
	// Owner is the ID of the user who owns the experiment.
	Owner int32
	// Tasks are the IDs of the trial's tasks, the current one last. Each continuation adds one. A
	// trial that never ran has none.
	Tasks []string
	// Ended reports that no further task will follow.
	Ended bool
}
