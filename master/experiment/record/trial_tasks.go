package record

// TrialTasks is whose trial it is and where it runs.
type TrialTasks struct {
	Experiment int32
	// Owner is the id of the user whose experiment it is.
	Owner int32
	// Tasks are its tasks, the present one last: each continuation has one. A trial that
	// never ran has none yet.
	Tasks []string
	// Ended says that there will be no more.
	Ended bool
}
