package policy

import "strings"

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

// Flags are the flags of `aws policy` for what the user brings. Of a role they say the
// ARN, for its name does not include the path.
func (s Scope) Flags() string {
	var b strings.Builder
	for _, f := range []struct{ flag, value string }{
		{"master-role", s.MasterRole},
		{"agent-role", s.AgentRole},
		{"data-bucket", s.DataBucket},
		{"data-volume", s.Volume},
		{"log-group", s.LogGroup},
		{"existing-secret", strings.Join(s.Secrets, ",")},
		{"kms-key", strings.Join(s.Keys, ",")},
	} {
		if f.value != "" {
			b.WriteString(" --" + f.flag + " " + f.value)
		}
	}
	if s.NoSessions {
		b.WriteString(" --session-manager=false")
	}
	return b.String()
}
