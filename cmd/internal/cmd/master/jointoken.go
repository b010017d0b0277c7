package master

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type joinTokenOptions struct {
	command.Local
	configFile

	Pool string
	Life time.Duration
	Uses int
}

func newJoinToken(s *term.Streams) *cobra.Command {
	o := &joinTokenOptions{}
	c := command.New(s, o, runJoinToken, &cobra.Command{
		Use:   "join-token",
		Short: "Print a token that lets machines join a pool",
		Long: `Print a token that lets machines join one resource pool until it expires, and with
--uses at most that number of machines. It is a secret: store it in a file that only
root can read, and set join_token_file in agent.yaml to the file.

The command reads the master's store and has to run on the master's machine; the
master may be running. "det-deploy agent join-token list" shows the token from its
first use on; for a token that is listed immediately, use
"det-deploy agent join-token create".`,
		Example: `  det-deploy master join-token --pool default --valid-for 1h > join-token
  det-deploy master join-token --uses 1 > join-token`,
		Args: cobra.NoArgs,
	})
	o.addFlags(c.Flags())
	c.Flags().StringVar(&o.Pool, "pool", "default", "resource pool to join")
	c.Flags().DurationVar(&o.Life, "valid-for", 24*time.Hour, "lifetime of the token")
	c.Flags().IntVar(&o.Uses, "uses", 0, "maximum number of machines that may join; 0 is unlimited")
	return c
}

func (o *joinTokenOptions) Validate() error {
	if o.Life <= 0 {
		return errors.New("--valid-for: must be more than 0")
	}
	if o.Uses < 0 {
		return errors.New("--uses: must be 0 or more")
	}
	return nil
}

// joinToken is the JSON output of join-token.
type joinToken struct {
	Pool    string    `json:"pool"`
	Token   string    `json:"token"` // the requested secret
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
	Uses    int       `json:"uses"`
}

func runJoinToken(ctx context.Context, o *joinTokenOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	token, j, err := wire.JoinToken(ctx, l.Master, wire.NewJoin{Pool: o.Pool, Life: o.Life, Uses: o.Uses})
	if err != nil {
		return err
	}
	return o.AnswerLine(joinToken{j.Pool, string(token), j.ID, j.Expires, j.Uses}, "%s", string(token))
}
