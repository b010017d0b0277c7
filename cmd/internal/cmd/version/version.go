// Package version implements the command that prints the version of det-deploy.
package version

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed" // for the licenses
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// options are the flags of version.
type options struct {
	command.Local

	Licenses bool
}

// New returns `det-deploy version`.
func New(s *term.Streams) *cobra.Command {
	o := &options{}
	c := command.New(s, o, run, &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  det-deploy version
  det-deploy version --output json
  det-deploy version --licenses`,
	})
	c.Flags().BoolVar(&o.Licenses, "licenses", false, "print the licenses and notices of everything that the program contains")
	return c
}

// Number returns the version of det-deploy.
func Number() string { return build.Read().Version }

// info is the JSON output of version.
type info struct {
	build.Info

	// AgentProtocol is the version of the protocol between masters and agents.
	AgentProtocol int `json:"agent_protocol"`
}

func run(_ context.Context, o *options) error {
	if o.Licenses {
		return printLicenses(o)
	}
	i := info{build.Read(), agentv1.Protocol}
	return o.AnswerLine(i, "det-deploy %s %s %s", i.Version, i.Platform, i.Go)
}

// packedLicenses is written by make generate.
//
//go:embed licenses.txt.gz
var packedLicenses []byte

// licenses is the JSON output of version --licenses.
type licenses struct {
	Licenses string `json:"licenses"`
}

func printLicenses(o *options) error {
	z, err := gzip.NewReader(bytes.NewReader(packedLicenses))
	if err != nil {
		return fmt.Errorf("read the licenses in this program: %w", err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return fmt.Errorf("read the licenses in this program: %w", err)
	}
	return o.AnswerLine(licenses{string(text)}, "%s", bytes.TrimSpace(text))
}
