package parts

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	agentconfig "github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/local"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// machinesDir is the subdirectory of the master's data directory for machines that are local processes.
const machinesDir = "machines"

func localRoot(cfg config.Master) (string, error) {
	dir, err := filepath.Abs(filepath.Join(cfg.DataDir, machinesDir))
	if err != nil {
		return "", fmt.Errorf("cannot find the directory of machines: %w", err)
	}
	return dir, nil
}

// localProvider launches machines that are local processes.
type localProvider struct{}

var (
	_ master.Provider    = localProvider{}
	_ master.OrphanEnder = localProvider{}
)

// Attestor implements master.Provider.
func (localProvider) Attestor(env master.Env, _ []config.Pool) ([]string, cloud.Attestor, error) {
	root, err := localRoot(env.Config)
	return []string{local.ProofKind}, local.Attestor{Root: root}, err
}

// Machines implements master.Provider.
func (localProvider) Machines(_ context.Context, env master.Env, p config.Pool) (master.Machines, error) {
	root, err := localRoot(env.Config)
	if err != nil {
		return master.Machines{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return master.Machines{}, fmt.Errorf("cannot find the file of this program: %w", err)
	}
	at, err := localMaster(env, p.Provider.Local.Elastic)
	if err != nil {
		return master.Machines{}, err
	}
	slots := p.Provider.Local.ArtificialSlots
	return master.Machines{
		Instances: local.Open(local.Config{
			Root: root, Pool: p.Name, Program: program, Log: env.Log,
			StartDelay: time.Duration(p.Provider.Local.StartDelay), FailureRate: p.Provider.Local.FailureRate,
			Agent: func(m local.Place) ([]byte, error) { return localAgent(env, at, m) },
		}),
		Offers: []cloud.Offer{local.Offer()}, Slots: slots,
		Describe: func(out *apiv1.ResourcePool) {
			out.Location, out.SlotType = "this machine", slotType(out, slots, apiv1.Device_TYPE_CPU)
		},
	}, nil
}

// localAgent returns the agent.yaml of a machine: the master's address and the proof of the machine's
// identity. The master sends the remaining settings.
func localAgent(env master.Env, at agentconfig.Agent, m local.Place) ([]byte, error) {
	at.DataDir, at.MachineSecretFile = m.Data(), m.Secret()
	at.ClusterID = env.ClusterID
	// Tasks must not read the master's users, keys and passwords on the same machine.
	dir, err := filepath.Abs(env.Config.DataDir)
	if err != nil {
		return nil, err
	}
	at.ProtectedPaths = append(at.ProtectedPaths, dir)
	return document.Marshal(at)
}

// localMaster returns an agent configuration with the master's address and the trusted certificate.
func localMaster(env master.Env, e provider.Elastic) (agentconfig.Agent, error) {
	a := agentconfig.DefaultAgent()
	a.MasterHost, a.MasterPort = "127.0.0.1", env.Config.ListenPort()
	if ip := net.ParseIP(env.Config.BindIP); ip != nil && !ip.IsUnspecified() {
		a.MasterHost = env.Config.BindIP
	}
	a.Security.TLS.Enabled = env.Config.Security.TLS.Enabled()
	if e.MasterURL != "" {
		u, err := url.Parse(e.MasterURL)
		if err != nil {
			return a, fmt.Errorf("provider.master_url: %w", err)
		}
		a.MasterHost, a.MasterPort, a.Security.TLS.Enabled = u.Hostname(), 0, u.Scheme == "https"
		if u.Port() != "" {
			if a.MasterPort, err = strconv.Atoi(u.Port()); err != nil {
				return a, fmt.Errorf("provider.master_url: %w", err)
			}
		}
	}
	if !a.Security.TLS.Enabled {
		return a, nil
	}
	return localTrust(env, a, e.MasterCertName)
}

// localTrust pins the master's certificate: its own authority in auto mode, or else the configured
// certificate and a name in it.
func localTrust(env master.Env, a agentconfig.Agent, name string) (agentconfig.Agent, error) {
	t := env.Config.Security.TLS
	a.Security.TLS.MasterCertName = name
	if t.Mode == security.TLSAuto {
		file, err := filepath.Abs(filepath.Join(env.Config.DataDir, "tls", "ca.crt"))
		a.Security.TLS.MasterCert = file
		return a, err
	}
	if t.Cert == "" { // TLS is terminated before the master
		return a, nil
	}
	var err error
	if a.Security.TLS.MasterCert, err = filepath.Abs(t.Cert); err != nil || name != "" {
		return a, err
	}
	leaf, err := leafOf(t.Cert)
	if err != nil {
		return a, err
	}
	if leaf.VerifyHostname(a.MasterHost) != nil && len(leaf.DNSNames) > 0 {
		a.Security.TLS.MasterCertName = leaf.DNSNames[0]
	}
	return a, nil
}

func leafOf(file string) (*x509.Certificate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read security.tls.cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("cannot read security.tls.cert: there is no certificate in %s", file)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read security.tls.cert: %w", err)
	}
	return leaf, nil
}

// EndOrphans implements master.OrphanEnder.
func (localProvider) EndOrphans(ctx context.Context, env master.Env, ended func(pool string, id cloud.InstanceID) error) error {
	root, err := localRoot(env.Config)
	if err != nil {
		return err
	}
	found, err := local.Found(root)
	if err != nil || len(found) == 0 {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the file of this program: %w", err)
	}
	var errs []error
	for _, m := range found {
		wanted := func(p config.Pool) bool { return p.Name == m.Pool() && p.Provider != nil && p.Provider.Local != nil }
		if slices.ContainsFunc(env.Config.ResourcePools, wanted) {
			continue
		}
		env.Log.Info("ending a machine of a removed pool", "pool", m.Pool(), "instance_id", m.ID())
		if err := local.End(ctx, m, program); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, ended(m.Pool(), m.ID()))
	}
	return errors.Join(errs...)
}
