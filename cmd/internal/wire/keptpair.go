package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
)

// keptPair is a certificate and its key, of which at least one is a secret that is
// kept elsewhere. It is read once: another one comes with another start.
type keptPair struct{ pair tls.Certificate }

var _ server.CertificateSource = keptPair{}

// Certificate implements server.CertificateSource.
func (k keptPair) Certificate() (*tls.Certificate, error) { return &k.pair, nil }

// readPair reads the certificate where the configuration says that it is.
func readPair(ctx context.Context, t config.TLS, from secret.Resolver) (server.CertificateSource, error) {
	if !refers(t.Cert) && !refers(t.Key) {
		return server.NewFiles(t.Cert, t.Key)
	}
	cert, err := part(ctx, "cert", t.Cert, from)
	if err != nil {
		return nil, err
	}
	key, err := part(ctx, "key", t.Key, from)
	if err != nil {
		return nil, err
	}
	pair, err := server.ParsePair(server.Part{Name: t.Cert, PEM: cert}, server.Part{Name: t.Key, PEM: key},
		"put the certificate with its whole chain, and the key that belongs to it, there again")
	if err != nil {
		return nil, fmt.Errorf("open the master's certificate: %w", err)
	}
	return keptPair{pair}, nil
}

// part is one half of the pair. Both may be in one text: what does not belong to
// the half is passed over.
func part(ctx context.Context, name, where string, from secret.Resolver) ([]byte, error) {
	if !refers(where) {
		data, err := os.ReadFile(where)
		if err != nil {
			return nil, fmt.Errorf("security.tls.%s: %w", name, err)
		}
		return data, nil
	}
	ref, err := secret.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("security.tls.%s: %w", name, err)
	}
	v, err := from.Resolve(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("security.tls.%s: %w", name, err)
	}
	return []byte(v.Reveal()), nil
}

func refers(where string) bool {
	v, err := secret.Parse(where)
	_, ok := v.Ref()
	return ok || err != nil
}

// withRegistries is cfg with the passwords of image registries, which go to agents
// with each task.
func withRegistries(ctx context.Context, cfg config.Master, from secret.Resolver) (config.Master, error) {
	var err error
	if cfg.TaskContainerDefaults, err = withRegistry(ctx, cfg.TaskContainerDefaults, from); err != nil {
		return cfg, fmt.Errorf("task_container_defaults.registry_auth.password: %w", err)
	}
	pools := make([]config.Pool, len(cfg.ResourcePools))
	for i, p := range cfg.ResourcePools {
		if p.TaskContainerDefaults != nil {
			d, err := withRegistry(ctx, *p.TaskContainerDefaults, from)
			if err != nil {
				return cfg, fmt.Errorf("resource_pools[%d].task_container_defaults.registry_auth.password: %w", i, err)
			}
			p.TaskContainerDefaults = &d
		}
		pools[i] = p
	}
	cfg.ResourcePools = pools
	return cfg, nil
}

func withRegistry(ctx context.Context, d config.TaskContainerDefaults, from secret.Resolver) (config.TaskContainerDefaults, error) {
	if d.RegistryAuth == nil {
		return d, nil
	}
	auth := *d.RegistryAuth
	var err error
	auth.Password, err = from.Resolve(ctx, auth.Password)
	d.RegistryAuth = &auth
	return d, err
}
