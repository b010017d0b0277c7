package policy

import "strings"

// Who is a role that makes AWS calls.
type Who string

// The callers.
const (
	// ByCaller is the user who runs det-deploy aws.
	ByCaller Who = "caller"
	// ByMaster is the master's instance.
	ByMaster Who = "master"
	// ByAgent is an agent's instance.
	ByAgent Who = "agent"
)

// For returns the policies of one caller. Each can be attached.
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

// Flags returns the flags of `aws policy` for existing resources. It uses the ARNs of roles,
// because a role's name does not include its path.
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
