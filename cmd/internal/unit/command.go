package unit

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Options holds the options of the commands that install a role.
type Options struct {
	Print  bool
	DryRun bool
	Yes    bool
}

// AddFlags declares the flags.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.Print, "print", false, "print the systemd unit, change nothing")
	o.addConsent(f)
}

func (o *Options) addConsent(f *pflag.FlagSet) {
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would change, change nothing")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
}

// Install shows the steps, asks for confirmation and runs them.
func (o Options) Install(ctx context.Context, s *term.Streams, role string, u Unit) error {
	if o.Print {
		_, err := s.Out.Write(u.Text)
		return err
	}
	if err := u.Check(role, "install"); err != nil {
		return err
	}
	steps, err := u.Plan()
	if err != nil {
		return err
	}
	for _, step := range steps {
		s.Printf("  + %s", step.What)
	}
	if o.DryRun {
		return nil
	}
	if ok, err := s.Agreed(ctx, o.Yes, "Apply these changes?"); err != nil || !ok {
		return err
	}
	if err := Do(ctx, steps, func(what string) { s.Notef("%s", what) }); err != nil {
		return exit.Continuing(err)
	}
	s.Notef("Installed the %s; it starts at every boot. Log: journalctl -u %s", role, u.Name)
	return nil
}
