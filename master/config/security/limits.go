package security

import (
	"net/netip"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Limits are the resource limits of anonymous clients and users. Zero means no limit. The limits of
// users also apply to administrators, who may change them.
type Limits struct {
	BodyBytes        ByteLimit `yaml:"body_bytes" doc:"Total bytes of request bodies of up to 1 MiB in memory; further requests wait and then fail with 503"`
	SpooledBytes     ByteLimit `yaml:"spooled_bytes" doc:"Total bytes of larger request bodies, such as those with files of tasks, in data_dir; further requests wait and then fail with 503"`
	ConnectionsInAll int       `yaml:"anonymous_connections" doc:"Maximum number of open connections without a login"`
	ConnectionsEach  int       `yaml:"anonymous_connections_per_address" doc:"Such connections from one address"`
	AgentsInAll      int       `yaml:"unadmitted_agents" doc:"Maximum number of connections of agents that are not admitted yet"`
	AgentsEach       int       `yaml:"unadmitted_agents_per_address" doc:"Such connections from one address"`
	TasksPerUser     int       `yaml:"tasks_per_user" doc:"Maximum number of active tasks per user"`
	ContextBytes     ByteLimit `yaml:"context_bytes" doc:"Size of the files that det-deploy sends with one task or experiment; the det client sends up to 96 MB"`
	ContextsPerUser  ByteLimit `yaml:"context_bytes_per_user" doc:"Total bytes of files that the det client sent with one user's active tasks"`
	StoredPerUser    ByteLimit `yaml:"stored_bytes_per_user" doc:"Bytes stored per user: files of tasks, model definitions of experiments, logs and metrics; beyond the limit, submissions and reports are rejected, and output of tasks is dropped"`
	LogPerTask       ByteLimit `yaml:"log_bytes_per_task" doc:"Bytes of one task's log; later lines are dropped, after a line that reports this"`
	SessionsPerUser  int       `yaml:"sessions_per_user" doc:"Maximum number of sessions per user; another login ends the oldest"`
	StreamsPerUser   int       `yaml:"streams_per_user" doc:"Maximum number of logs that one user follows, and of signals that one allocation waits for"`
}

// DefaultLimits returns limits that stop accidents and attackers but do not affect ordinary use.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes: 128 << 20,
		// A dozen of the largest contexts that det sends.
		SpooledBytes: 2 << 30,
		// Below 100 MB, at some 50 KB each with TLS.
		ConnectionsInAll: 2048, ConnectionsEach: 1024,
		// A thousand agents behind one address join within seconds.
		AgentsInAll: 768, AgentsEach: 256,
		TasksPerUser:    10_000,
		ContextBytes:    2 << 30,
		ContextsPerUser: 16 << 30,
		StoredPerUser:   100 << 30,
		LogPerTask:      10 << 30,
		SessionsPerUser: 1000,
		// One for each container of the largest allocation.
		StreamsPerUser: 1024,
	}
}

// SetDefaults sets l to the default limits.
func (l *Limits) SetDefaults() { *l = DefaultLimits() }

// The size of the largest body of each kind. A lower limit would reject it always.
const (
	smallBody = 2 << 20 // 1 MiB, which counts twice
	largeBody = 160 << 20
)

// Validate checks that no limit is negative or lower than one request needs.
func (l Limits) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	for _, row := range []struct {
		key string
		n   int
	}{
		{"anonymous_connections", l.ConnectionsInAll},
		{"anonymous_connections_per_address", l.ConnectionsEach},
		{"unadmitted_agents", l.AgentsInAll},
		{"unadmitted_agents_per_address", l.AgentsEach},
		{"tasks_per_user", l.TasksPerUser},
		{"sessions_per_user", l.SessionsPerUser},
		{"streams_per_user", l.StreamsPerUser},
	} {
		e.Check(row.n >= 0, at(row.key), "must be at least 0, which means no limit (is %d)", row.n)
	}
	e.Check(l.BodyBytes == 0 || l.BodyBytes >= smallBody, at("body_bytes"),
		"must be at least %d, the size of the largest body, or 0 for no limit (is %d)", smallBody, l.BodyBytes)
	e.Check(l.SpooledBytes == 0 || l.SpooledBytes >= largeBody, at("spooled_bytes"),
		"must be at least %d, the size of the largest body, or 0 for no limit (is %d)", largeBody, l.SpooledBytes)
	return e
}

// ByteLimit is a number of bytes, or 0 for no limit.
type ByteLimit int64

// UnmarshalDocument reads a number, or text with a unit that is a power of 1024.
func (b *ByteLimit) UnmarshalDocument(v document.Value) {
	n, ok := document.ParseBytes(v.Text())
	switch {
	case v.IsText() && v.Text() == "0":
		*b = 0
	case !v.IsText() || !ok:
		v.Complain("must be a number of bytes or a text with a unit, as in 512m or 4g; 0 for no limit", "")
	default:
		*b = ByteLimit(n)
	}
}

// DocumentShape implements document.Shaper.
func (ByteLimit) DocumentShape() string { return "bytes, or text such as 4g; 0 for no limit" }

// Proxies configures the load balancers and proxies in front of the master.
type Proxies struct {
	Trusted []string `yaml:"trusted" doc:"Networks, such as 10.0.0.0/8, whose X-Forwarded-For header is trusted; none by default"`
}

// Prefixes returns the trusted networks.
func (p Proxies) Prefixes() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range p.Trusted {
		if n, ok := parseNetwork(text); ok {
			out = append(out, n)
		}
	}
	return out
}

// Validate checks the networks.
func (p Proxies) Validate(path string) document.Errors {
	var e document.Errors
	for i, text := range p.Trusted {
		_, ok := parseNetwork(text)
		e.Check(ok, document.Index(document.Join(path, "trusted"), i), "must be a network such as 10.0.0.0/8 or an address (is %q)", text)
	}
	return e
}

// parseNetwork parses a network, or an address as a network with that address only.
func parseNetwork(text string) (netip.Prefix, bool) {
	if n, err := netip.ParsePrefix(text); err == nil {
		return n.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}
