package local

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// started is the JSON output of up.
type started struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	URL     string `json:"url"`
	User    string `json:"user"`
	// PasswordFile is the path of the password file; the output contains no secrets.
	PasswordFile string `json:"password_file"`
	// DeterminedPasswordFile is the path of the password file of the user determined.
	DeterminedPasswordFile string `json:"determined_password_file"`
	Runtime                string `json:"runtime"`
	// Isolated reports whether tasks are isolated from this machine. TrustUsers reports whether all users
	// may submit tasks even if they are not.
	Isolated   bool `json:"isolated"`
	TrustUsers bool `json:"trust_users"`
	// Restrictions lists the tasks that the agents cannot run, with reasons, one sentence each.
	Restrictions []string `json:"restrictions"`
	// Join is the command with which another machine joins, given the files join-token and ca.pem, or empty.
	Join string `json:"join,omitempty"`

	// ca is the file with the certificate authority of the master, and certName the name in its
	// certificate; both may be empty.
	ca, certName string
	loggedIn     bool
	// exposed is the reason why tasks are not isolated.
	exposed string
}

// Finish makes the cluster the current context and returns the instructions for using it.
func (c *opened) Finish(ctx context.Context) (cluster.Answer, error) {
	spec, place := c.Target.Spec, c.Target.Place
	loggedIn, err := c.rememberContext(ctx)
	if err != nil {
		return nil, err
	}
	r := &started{
		Schema: "det-deploy.local-up/v1", Cluster: spec.Cluster, URL: spec.URL(), User: "admin",
		PasswordFile: place.Password(), DeterminedPasswordFile: place.DeterminedPassword(),
		Runtime: c.Target.Runtime(ctx), Isolated: spec.Isolated, TrustUsers: spec.TrustUsers, loggedIn: loggedIn,
	}
	if spec.TLS {
		r.ca, r.certName = place.CA(), spec.OwnTLS.Name
	}
	if address := spec.AgentAddress; address != "" {
		r.Join = fmt.Sprintf("agent run --master-host %s --master-port %d --security-tls-enabled --security-tls-master-cert ca.pem --join-token-file join-token", address, spec.Port)
		if name := spec.OwnTLS.Name; name != "" {
			r.Join += " --security-tls-master-cert-name " + name
		}
	}
	r.exposed, _ = c.Target.Isolated(ctx)
	r.Restrictions = c.listRestrictions(ctx)
	return r, nil
}

// listRestrictions asks the master for its restrictions. It returns none on an error, for example if the
// password of admin was changed; logged-in users see them in det-deploy agent list.
func (c *opened) listRestrictions(ctx context.Context) []string {
	found, err := c.Target.Master().Restrictions(ctx)
	if err != nil {
		return []string{}
	}
	return found
}

// Print writes the instructions for using the cluster.
func (r *started) Print(s *term.Streams) error {
	s.Printf("Cluster %s is up at %s; tasks run as %s.", r.Cluster, r.URL, r.tasksAs())
	s.Printf("")
	s.Printf("  export DET_MASTER=%s", r.URL)
	if r.ca != "" {
		s.Printf("  export DET_MASTER_CERT_FILE=%s", r.ca)
	}
	if r.certName != "" {
		s.Printf("  export DET_MASTER_CERT_NAME=%s", r.certName)
	}
	s.Printf("")
	next := "task run -- echo hello"
	if r.loggedIn {
		s.Printf("You are logged in as %s; show the passwords with `%s`. Next:", r.User, s.Command("local credentials"+idFlag(r.Cluster)))
	} else {
		next = "login " + r.User
		s.Printf("You are not logged in because the password of %s was changed. Next:", r.User)
	}
	s.Printf("")
	s.Printf("  %s", s.Command(next))
	s.Printf("")
	s.Printf("Or open %s in a browser.", r.URL)
	if r.Join != "" {
		r.printJoin(s)
	}
	if len(r.Restrictions) > 0 {
		s.Printf("")
	}
	for _, line := range r.Restrictions {
		s.Printf("WARNING: %s.", line)
	}
	if len(r.Restrictions) > 0 {
		s.Printf("To restart agents: `%s`, then `%s`.", s.Command("local down"+idFlag(r.Cluster)), s.Command("local up"+idFlag(r.Cluster)))
	}
	if !r.Isolated {
		r.warnExposed(s)
	}
	return nil
}

// printJoin prints how another machine joins. The token is a secret, so it is in a file.
func (r *started) printJoin(s *term.Streams) {
	s.Printf("")
	s.Printf("Another machine joins in two steps. Here, for one machine, then copy det-deploy and the files there:")
	s.Printf("")
	s.Printf("  (umask 077; %s > join-token; cp %s ca.pem)", s.Command("agent join-token create --master "+r.Cluster+" --uses 1"), r.ca)
	s.Printf("")
	s.Printf("There, as root, in the directory with the files:")
	s.Printf("")
	s.Printf("  ./det-deploy %s", r.Join)
}

// warnExposed prints the warning that tasks are not isolated. It comes last in the output.
func (r *started) warnExposed(s *term.Streams) {
	s.Printf("")
	s.Printf("WARNING: users who may submit tasks have your full access to this machine:")
	s.Printf("tasks run as your own user, with access to your files and to the passwords and keys of the cluster,")
	s.Printf("because %s.", r.exposed)
	if r.TrustUsers {
		s.Printf("Every user of the cluster may submit tasks; to restrict this to administrators: `%s`.", s.Command("local up"+idFlag(r.Cluster)+" --trust-users=false"))
		return
	}
	s.Printf("Only administrators may submit tasks; to allow every user: `%s`.", s.Command("local up"+idFlag(r.Cluster)+" --trust-users"))
}

func (r *started) tasksAs() string {
	switch {
	case r.Runtime == "docker":
		return "Docker containers"
	case r.Isolated:
		return "plain processes, each as its own Unix user, because Docker is not running"
	default:
		return "plain processes, because Docker is not running"
	}
}
