package apiv1

// OnlyAdministrators returns the restriction of an agent that does not isolate tasks, for the given reason,
// and does not trust its users.
func OnlyAdministrators(why string) string {
	return "only administrators' tasks run there, because it does not isolate them: " + why
}
