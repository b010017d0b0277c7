// Package ssh implements the commands that let OpenSSH log in to shells by their names.
package ssh

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type configOptions struct {
	command.Remote

	Prefix string
}

// NewConfig returns `det-deploy ssh-config`.
func NewConfig(s *term.Streams) *cobra.Command {
	o := &configOptions{}
	c := command.NewRemote(s, o, runConfig, &cobra.Command{
		Use:   "ssh-config",
		Short: "Print the configuration with which ssh logs in to shells",
		Long: `Print a part of ~/.ssh/config with which ssh, scp, sftp and editors reach the shells of a
cluster as "det-NAME": by the name of a running shell of yours, or by an ID or the beginning of
one. The name is the shell's description in lower case, with hyphens for other characters. The
key of a shell is fetched at each login, and removed after the shell's end.`,
		Example: `  det-deploy ssh-config >> ~/.ssh/config
  det-deploy ssh-config --master lab --host-prefix lab- >> ~/.ssh/config`,
	})
	addPrefixFlag(c, &o.Prefix)
	return c
}

func addPrefixFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "host-prefix", "det-", "beginning of the host names, which differs if there are several clusters")
}

func (o *configOptions) Validate() error { return checkPrefix(o.Prefix) }

func checkPrefix(prefix string) error {
	if !hostName.MatchString(prefix) || len(prefix) > 32 {
		return usage.Errorf("--host-prefix %q: must consist of at most 32 letters, digits, dots and hyphens, such as lab-", prefix)
	}
	return nil
}

// answer is the JSON output.
type answer struct {
	Config string `json:"config"`
}

func runConfig(ctx context.Context, o *configOptions, master *client.Client) error {
	about, err := master.Master(ctx)
	if err != nil {
		return err
	}
	dir, err := keysIn(o.Getenv, about.GetClusterId())
	if err != nil {
		return err
	}
	c, named, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	b := block{master: c.Master, prefix: o.Prefix, keys: dir}
	if named {
		b.master = c.Name
	}
	if b.program, err = os.Executable(); err != nil {
		return fmt.Errorf("find the path of det-deploy: %w", err)
	}
	text, err := b.render()
	if err != nil {
		return err
	}
	if err := o.AnswerLine(answer{text}, "%s", strings.TrimSuffix(text, "\n")); err != nil {
		return err
	}
	if o.OutTerminal() {
		o.Tell("Append this to ~/.ssh/config, and log in with: ssh %sNAME", o.Prefix)
	}
	return nil
}

// block is a part of the configuration of ssh.
type block struct {
	master, prefix, program string
	keys                    keys
}

// render returns the text. Programs are started by a shell: what is quoted has no quotes itself.
func (b block) render() (string, error) {
	for _, text := range []string{b.master, b.program, string(b.keys)} {
		if strings.ContainsAny(text, "'\"\\\n") {
			return "", fmt.Errorf("%q has quotes, which the configuration of ssh cannot have: rename it", text)
		}
	}
	percent := strings.NewReplacer("%", "%%")
	proxy := fmt.Sprintf("'%s' ssh-proxy --master '%s' --host-prefix '%s' --keys '%s' '%%n'",
		percent.Replace(b.program), percent.Replace(b.master), b.prefix, percent.Replace(string(b.keys)))
	return fmt.Sprintf(`# Shells of cluster %[1]s, by det-deploy ssh-config.
Host %[2]s* "!*'*"
  HostKeyAlias %[3]s
  UserKnownHostsFile "%[4]s"
  StrictHostKeyChecking yes
  IdentityFile "%[5]s/%%n"
  IdentitiesOnly yes
  ProxyCommand %[6]s
# Fetches the key of the shell.
Match originalhost "%[2]s*,!*'*" exec "%[6]s --prepare 2>/dev/null"
`, b.master, b.prefix, b.keys.alias(), b.keys.knownHosts(), percent.Replace(string(b.keys)), proxy), nil
}
