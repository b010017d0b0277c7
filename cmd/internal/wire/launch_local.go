package wire

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// machinesDir is where machines that are processes of this one are, in the
// master's data directory.
const machinesDir = "machines"

func localRoot(cfg config.Master) (string, error) {
	dir, err := filepath.Abs(filepath.Join(cfg.DataDir, machinesDir))
	if err != nil {
		return "", fmt.Errorf("find the directory of machines: %w", err)
	}
	return dir, nil
}

// localMachines are processes of this machine.
func (s site) localMachines(_ context.Context, p config.Pool) (machines, error) {
	root, err := localRoot(s.cfg)
	if err != nil {
		return machines{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return machines{}, fmt.Errorf("find this program: %w", err)
	}
	at, err := s.localMaster(p.Provider.Local.Elastic)
	if err != nil {
		return machines{}, err
	}
	return machines{
		instances: local.Open(local.Config{
			Root: root, Pool: p.Name, Program: program, Log: s.log,
			StartDelay: time.Duration(p.Provider.Local.StartDelay), FailureRate: p.Provider.Local.FailureRate,
			Agent: func(m local.Place) ([]byte, error) { return s.localAgent(at, m) },
		}),
		offers: []cloud.Offer{local.Offer()}, slots: p.Provider.Local.ArtificialSlots,
	}, nil
}

// localAgent is the agent.yaml of a machine: how it finds and proves itself to its
// master, who tells it the rest.
func (s site) localAgent(at agentconfig.Agent, m local.Place) ([]byte, error) {
	at.DataDir, at.MachineSecretFile = m.Data(), m.Secret()
	at.ClusterID = s.clusterID
	// Its master keeps users, keys and passwords on the same machine.
	dir, err := filepath.Abs(s.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	at.ProtectedPaths = append(at.ProtectedPaths, dir)
	return document.Marshal(at)
}

// localMaster is an agent that knows where its master is, and whom to trust.
func (s site) localMaster(e config.Elastic) (agentconfig.Agent, error) {
	a := agentconfig.DefaultAgent()
	a.MasterHost, a.MasterPort = "127.0.0.1", s.cfg.ListenPort()
	if ip := net.ParseIP(s.cfg.BindIP); ip != nil && !ip.IsUnspecified() {
		a.MasterHost = s.cfg.BindIP
	}
	a.Security.TLS.Enabled = s.cfg.Security.TLS.Enabled()
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
	return s.localTrust(a, e.MasterCertName)
}

// localTrust pins what the master shows: the authority that it keeps itself, or
// its very certificate, under a name that is in it.
func (s site) localTrust(a agentconfig.Agent, name string) (agentconfig.Agent, error) {
	t := s.cfg.Security.TLS
	a.Security.TLS.MasterCertName = name
	if t.Mode == config.TLSAuto {
		file, err := filepath.Abs(filepath.Join(s.cfg.DataDir, "tls", "ca.crt"))
		a.Security.TLS.MasterCert = file
		return a, err
	}
	if t.Cert == "" { // TLS ends before the master
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
		return nil, fmt.Errorf("read security.tls.cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("read security.tls.cert: there is no certificate in %s", file)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read security.tls.cert: %w", err)
	}
	return leaf, nil
}

// localAttestor checks the proofs of processes of this machine.
func localAttestor(cfg config.Master) (cloud.Attestor, error) {
	root, err := localRoot(cfg)
	return local.Attestor{Root: root}, err
}

// endStrays ends machines of pools that the configuration no longer has, or whose
// provider is another by now: nobody else looks after them.
func endStrays(ctx context.Context, cfg config.Master, ended func(pool string, id cloud.InstanceID) error, log *slog.Logger) error {
	root, err := localRoot(cfg)
	if err != nil {
		return err
	}
	found, err := local.Found(root)
	if err != nil || len(found) == 0 {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	var errs []error
	for _, m := range found {
		wanted := func(p config.Pool) bool { return p.Name == m.Pool() && p.Provider != nil && p.Provider.Local != nil }
		if slices.ContainsFunc(cfg.ResourcePools, wanted) {
			continue
		}
		log.Info("ending a machine of a pool that is no more", "pool", m.Pool(), "instance_id", m.ID())
		if err := local.End(ctx, m, program); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, ended(m.Pool(), m.ID()))
	}
	return errors.Join(errs...)
}
