package unit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type uninstallOptions struct {
	command.Base
	Options

	ConfigFile string
	DeleteData bool
}

// NewUninstall returns the command that removes the systemd service of a role.
func NewUninstall(s *term.Streams, r Role) *cobra.Command {
	o := &uninstallOptions{}
	c := command.New(s, o, r.uninstall, &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the systemd service of " + r.A,
		Long: `Stop and disable the service that ` + r.Name + ` install has made, and delete its unit.
The configuration and ` + Binary + ` are kept, and the data unless
--delete-data is given. uninstall can be repeated.`,
		Example: "  det-deploy " + r.Name + " uninstall --dry-run\n  det-deploy " + r.Name + " uninstall --yes",
	})
	c.Flags().StringVar(&o.ConfigFile, "config-file", r.ConfigFile, r.Name+".yaml of the "+r.Name)
	c.Flags().BoolVar(&o.DeleteData, "delete-data", false, "also delete data (irreversible)")
	o.addConsent(c.Flags())
	return c
}

func (r Role) uninstall(ctx context.Context, o *uninstallOptions) error {
	u, err := r.Unit(o.ConfigFile, true)
	if err != nil && !o.DeleteData { // the configuration is needed for data and tasks only
		u, err = r.Unit(o.ConfigFile, false)
		u.Sweep = nil
	}
	if err != nil {
		return err
	}
	return o.Uninstall(ctx, o.Streams, r.Name, u, o.DeleteData)
}

// Uninstall shows the steps, asks for confirmation and runs them.
func (o Options) Uninstall(ctx context.Context, s *term.Streams, role string, u Unit, deleteData bool) error {
	if err := u.Check(role, "uninstall"); err != nil {
		return err
	}
	steps := u.removals(deleteData)
	if len(steps) == 0 {
		s.Notef("The %s is not installed as a service.", role)
		return nil
	}
	for _, step := range steps {
		s.Printf("  - %s", step.What)
	}
	if o.DryRun {
		return nil
	}
	if ok, err := o.agreeRemoval(ctx, s, u, deleteData); err != nil || !ok {
		return err
	}
	if err := Do(ctx, steps, func(what string) { s.Notef("%s", what) }); err != nil {
		return err
	}
	s.Notef("Removed the service of the %s.", role)
	if !deleteData && exists(filepath.Join(u.Root, u.DataDir)) {
		s.Notef("Its data is kept in %s.", u.DataDir)
	}
	return nil
}

// agreeRemoval asks for confirmation. If data is deleted, the user has to type its directory.
func (o Options) agreeRemoval(ctx context.Context, s *term.Streams, u Unit, deleteData bool) (bool, error) {
	if !deleteData || o.Yes {
		return s.Agreed(ctx, o.Yes, "Apply these changes?")
	}
	return s.ConfirmTyped(ctx, term.Question{Text: "This permanently deletes the data.", Flag: "--yes"}, u.DataDir)
}

// removals returns the steps that remove the service. There are none if it is not installed.
func (u Unit) removals(deleteData bool) []Step {
	var steps []Step
	file := filepath.Join(u.Root, "/etc/systemd/system", u.Name)
	if exists(file) {
		steps = append(steps,
			Step{"stop and disable " + u.Name, func(ctx context.Context) error { return u.systemctl(ctx, "disable", "--now", u.Name) }},
			Step{"delete /etc/systemd/system/" + u.Name, func(ctx context.Context) error {
				return errors.Join(os.Remove(file), u.systemctl(ctx, "daemon-reload"))
			}})
	}
	if len(u.Sweep) > 0 && len(steps) > 0 {
		steps = slices.Insert(steps, 1, Step{"end the tasks that still run", u.sweep})
	}
	for _, path := range u.ownPaths() {
		steps = append(steps, Step{"delete " + path, func(context.Context) error { return os.Remove(filepath.Join(u.Root, path)) }})
	}
	if data := filepath.Join(u.Root, u.DataDir); deleteData && exists(data) {
		steps = append(steps, Step{"delete the data in " + u.DataDir, func(context.Context) error { return os.RemoveAll(data) }})
	}
	return steps
}

func (u Unit) sweep(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, self, u.Sweep...).CombinedOutput() //nolint:gosec // the program and the arguments are ours
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// ownPaths returns the further files and links that install has made and nobody has changed.
func (u Unit) ownPaths() []string {
	var out []string
	for path, text := range u.Files {
		if have, err := os.ReadFile(filepath.Join(u.Root, path)); err == nil && string(have) == string(text) {
			out = append(out, path)
		}
	}
	for path, to := range u.Links {
		if have, err := os.Readlink(filepath.Join(u.Root, path)); err == nil && have == to {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
