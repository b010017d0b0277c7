package k8s

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

type initSecretsOptions struct {
	*term.Streams
	k8swire.SecretsWanted
}

func newInitSecrets(s *term.Streams, run func(context.Context, *initSecretsOptions) error) *cobra.Command {
	o := &initSecretsOptions{Streams: s}
	c := &cobra.Command{
		Use:    "init-secrets",
		Hidden: true,
		Short:  "Generate missing passwords",
		Long: `Generate missing passwords of a cluster, in a Secret that belongs to no Helm release. The
chart runs it before the master and the database. Existing entries are never changed, and
concurrent runs result in the same passwords. --key NAME=OTHER generates NAME, or copies
OTHER if it existed before.

It requires the permission to create Secrets in its namespace, which Kubernetes cannot
restrict to a name, and to get and update this Secret.`,
		Example: "  det-deploy k8s init-secrets --cluster-id lab --key admin-password --key determined-password=admin-password",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			o.splitKeys()
			if err := o.validate(); err != nil {
				return usage.Check(err)
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	cluster.AddID(f, &o.Cluster, "")
	f.StringVar(&o.Secret, "secret", "", "name of the Secret (default determined-secrets-<cluster-id>)")
	f.StringArrayVar(&o.Keys, "key", nil, "required key, or NAME=OTHER to copy OTHER where it exists; repeatable")
	f.StringVar(&o.To, "to", "", "directory to which the entries are also written, one file each")
	f.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the Secret (default that of the pod or the kubeconfig)")
	return c
}

// keyName matches the valid keys of a Secret; each becomes a file name.
var keyName = regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]*$`)

// splitKeys splits NAME=OTHER arguments.
func (o *initSecretsOptions) splitKeys() {
	for i, given := range o.Keys {
		key, other, found := strings.Cut(given, "=")
		if !found {
			continue
		}
		if o.Copies == nil {
			o.Copies = map[string]string{}
		}
		o.Keys[i], o.Copies[key] = key, other
	}
}

func (o *initSecretsOptions) validate() error {
	if o.Cluster == "" {
		return errors.New("--cluster-id is missing: give the cluster of the passwords")
	}
	if len(o.Keys) == 0 {
		return errors.New("--key is missing: give a required entry such as admin-password")
	}
	for _, key := range slices.Concat(o.Keys, slices.Sorted(maps.Values(o.Copies))) {
		if !keyName.MatchString(key) {
			return fmt.Errorf("--key: must consist of letters, digits, -, _ and ., and begin with a letter or digit (is %q)", key)
		}
	}
	return nil
}

func runInitSecrets(ctx context.Context, o *initSecretsOptions) error {
	if o.Secret == "" {
		o.Secret = "determined-secrets-" + o.Cluster
	}
	if err := k8swire.InitSecrets(ctx, o.SecretsWanted); err != nil {
		return err
	}
	o.Notef("Secret %s contains %s.", o.Secret, strings.Join(o.Keys, ", "))
	return nil
}
