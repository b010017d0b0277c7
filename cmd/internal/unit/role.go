package unit

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Role is a role that can be installed on a machine.
type Role struct {
	// Name is the role, such as "master", and A the name with its article.
	Name, A string
	// ConfigFile is the default configuration file.
	ConfigFile string
	// Unit returns the unit that runs the role with a configuration file. If check is set, it reads and
	// validates the file.
	Unit func(configFile string, check bool) (Unit, error)
}

type installOptions struct {
	command.Base
	Options

	ConfigFile string
}

// NewInstall returns the command that installs a role as a systemd service.
func NewInstall(s *term.Streams, r Role) *cobra.Command {
	o := &installOptions{}
	c := command.New(s, o, r.install, &cobra.Command{
		Use:   "install",
		Short: "Install " + r.A + " as a systemd service",
		Long: `Install ` + r.A + ` as a service of this machine: validate its configuration,
copy this program to ` + Binary + `, write a systemd unit, enable and start
it. To update the program, run install again; it restarts the ` + r.Name + `.`,
		Example: "  det-deploy " + r.Name + " install --dry-run\n  det-deploy " + r.Name + " install --yes",
	})
	c.Flags().StringVar(&o.ConfigFile, "config-file", r.ConfigFile, r.Name+".yaml of the "+r.Name)
	o.AddFlags(c.Flags())
	return c
}

func (r Role) install(ctx context.Context, o *installOptions) error {
	u, err := r.Unit(o.ConfigFile, !o.Print)
	if err != nil {
		return err
	}
	return o.Install(ctx, o.Streams, r.Name, u)
}
