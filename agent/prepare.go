package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/agent/script"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// preparer sets up a launched machine before it becomes an agent: the master admits it by its proof
// of identity and sends its configuration, and the preparer runs the startup scripts of the
// resource pool once. The scripts continue if the connection breaks.
type preparer struct {
	cfg  Config
	host string
	// orders receives the first welcome; done is closed when it has been carried out.
	orders chan *agentv1.Welcome
	done   chan struct{}
	// err is the result, to be read after done is closed.
	err error
}

var _ link.Peer = (*preparer)(nil)

// setUpMachine returns nil when the machine is set up. If the setup fails, it keeps reporting the
// failure to the master until ctx ends.
func setUpMachine(ctx context.Context, cfg Config, me self) error {
	if me.Prepared {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("get the host name: %w", err)
	}
	p := &preparer{cfg: cfg, host: host, orders: make(chan *agentv1.Welcome, 1), done: make(chan struct{})}
	links, client, err := linkOf(cfg)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		defer close(p.done)
		p.err = p.carryOut(ctx, client, me)
		return nil
	})
	g.Go(func() error {
		defer cancel()
		return link.Run(ctx, links, p)
	})
	return g.Wait()
}

// Hello requests the setup of this machine.
func (p *preparer) Hello() *agentv1.Hello {
	return &agentv1.Hello{
		AgentId: p.cfg.Settings.AgentID, Version: p.cfg.Version, Hostname: p.host, Preparing: true,
	}
}

// Serve keeps the connection until the machine is set up. If the setup fails, it reports the
// failure and stays connected, so that the master does not wait for the machine.
func (p *preparer) Serve(ctx context.Context, c *link.Conn, w *agentv1.Welcome) error {
	if err := storeOverlay(p.cfg, w.GetAgentConfig()); err != nil {
		return &link.Final{Err: err}
	}
	select {
	case p.orders <- w:
	default: // an earlier welcome is being carried out
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for { // the master sends only refusals here, or closes the connection
			if _, err := c.Receive(gctx); err != nil {
				return err
			}
		}
	})
	set := false
	g.Go(func() error {
		select {
		case <-gctx.Done():
			return nil
		case <-p.done:
		}
		set = p.err == nil
		if s, ok := errors.AsType[*SupersededError](p.err); ok {
			return &link.Final{Err: s}
		}
		if set {
			cancel()
			return nil
		}
		return c.Send(gctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Unprepared{
			Unprepared: &agentv1.Unprepared{Reason: p.err.Error()},
		}})
	})
	err := g.Wait()
	if set {
		return nil
	}
	return err
}

// carryOut executes the first welcome and stores the result.
func (p *preparer) carryOut(ctx context.Context, client *http.Client, me self) error {
	var w *agentv1.Welcome
	select {
	case <-ctx.Done():
		return ctx.Err()
	case w = <-p.orders:
	}
	if me.Failure != "" {
		return errors.New(me.Failure)
	}
	if err := followMaster(ctx, p.cfg, client, w); err != nil {
		return err
	}
	err := p.runScripts(ctx, w.GetPreparation())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	me.Prepared = err == nil
	if err != nil {
		me.Failure = err.Error()
		p.cfg.Log.Error("cannot set up this machine", "err", err)
	}
	return errors.Join(err, writeSelf(p.cfg.Settings.DataDir, me))
}

func (p *preparer) runScripts(ctx context.Context, o *agentv1.Preparation) error {
	dir := p.cfg.Settings.DataDir
	startup := startupScript(dir)
	startup.Text = o.GetStartupScript()
	if err := p.runScript(ctx, startup); err != nil {
		return err
	}
	now, err := withOverlay(p.cfg)
	if err != nil {
		return err
	}
	beside := containerStartupScript(dir)
	beside.Text, beside.Env = o.GetContainerStartupScript(), proxiesOf(now.Settings)
	return p.runScript(ctx, beside)
}

func startupScript(dataDir string) script.Script {
	return script.Script{Name: "startup_script", File: filepath.Join(dataDir, "startup-script")}
}

func containerStartupScript(dataDir string) script.Script {
	return script.Script{Name: "container_startup_script", File: filepath.Join(dataDir, "container-startup-script")}
}

func (p *preparer) runScript(ctx context.Context, s script.Script) error {
	if len(s.Text) == 0 {
		return nil
	}
	p.cfg.Log.Info("running a script of the resource pool", "script", s.Name, "output", s.Output())
	return script.Run(ctx, s)
}
