package policy

// Who is a caller of Amazon's.
type Who string

// Those who call.
const (
	// ByCaller is who runs det-deploy aws.
	ByCaller Who = "caller"
	// ByMaster is the master's machine.
	ByMaster Who = "master"
	// ByAgent is an agent's machine.
	ByAgent Who = "agent"
)

// For is the documents of one caller, each of which may be attached.
func For(who Who, s Scope) []Named {
	switch who {
	case ByMaster:
		return []Named{{string(who), Master(s)}}
	case ByAgent:
		return []Named{{string(who), Agent(s)}}
	case ByCaller:
	}
	return Caller(s)
}
