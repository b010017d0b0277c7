package task

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// openOptions are the options of `task open`.
type openOptions struct {
	command.Remote

	port int
}

func newOpen(s *term.Streams) *cobra.Command {
	o := &openOptions{Remote: command.Remote{Local: command.Local{Shows: true}, Names: client.Tasks, Open: true}}
	c := command.NewRemote(s, o, runOpen, &cobra.Command{
		Use:   "open TASK",
		Short: "Print the address of a task's web page",
		Long: `Print the address at which a browser finds the web page of a running task: one of the ports that the
task lists in environment.proxy_ports. The address logs the browser in to this page alone. It is valid
for ten minutes, and the login as long as yours: give it to nobody.`,
		Example: `  det-deploy task open 5d1f6f2e
  det-deploy task open train --port 6006`,
	})
	c.Flags().IntVar(&o.port, "port", 0, "port in the container (default: the task's default port)")
	return c
}

func runOpen(ctx context.Context, o *openOptions, master *client.Client) error {
	service := o.Args[0]
	if o.port != 0 {
		service += ":" + strconv.Itoa(o.port)
	}
	address, err := master.OpenService(ctx, service)
	if err != nil {
		return err
	}
	return o.AnswerLine(&apiv1.OpenServiceResponse{Address: address}, "%s", address)
}
