package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func newShow(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Remote{Local: command.Local{Shows: true}}, runShow, &cobra.Command{
		Use: "show", Short: "Print the current context and user",
		Example: "  det-deploy context show\n  det-deploy context show --master lab --output json",
	})
}

func runShow(_ context.Context, o *command.Remote) error {
	c, _, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	session := "logged out"
	if c.Token != "" {
		session = "logged in as " + c.User
	}
	return o.AnswerPairs(c,
		[2]string{"Name", c.Name}, [2]string{"Chosen by", o.Choice(o.Streams)}, [2]string{"Master", c.Master}, [2]string{"Cluster", c.Cluster},
		[2]string{"Session", session}, [2]string{"Certificate", trust(c)}, [2]string{"Name in it", c.ServerName},
	)
}

func trust(c contexts.Context) string {
	switch {
	case c.Fingerprint != "":
		return "pinned, SHA-256 " + c.Fingerprint
	case c.CA != "":
		return "signed by the CA in the context"
	default:
		return ""
	}
}
