package agentrm

import (
	"context"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// prepare tells a launched machine how to set itself up, and stays with it until
// it has: then it hangs up and connects again as an agent. It is no agent until
// then, so that nothing is sent to a machine that may not be able to run it.
func (r *RM) prepare(ctx context.Context, l *link, h *agentv1.Hello) error {
	if err := r.checkHello(h); err != nil {
		return err
	}
	who, err := r.admit(ctx, h, l.address)
	if err != nil {
		return err
	}
	if !who.Launched {
		return refuseForGoodf("agent %s is not on a machine that the master launched, and sets itself up", who.Agent)
	}
	credential, err := r.accept(ctx, who)
	if err != nil {
		return err
	}
	w := r.welcomeFor(who, credential)
	w.Preparation = r.cfg.Prepare(who.Pool)
	if !r.attend(l) {
		return refusef("the master stops; try again")
	}
	defer r.leave(l)
	l.agent = who.Agent // for the log; nothing is sent to it by this name
	l.admitted(ctx)
	r.cfg.Log.Info("agent admitted", "agent_id", who.Agent, "pool", who.Pool, "address", l.address, "version", excerpt.Of(h.GetVersion()))
	err = l.writeOne(ctx, &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Welcome{Welcome: w}})
	if err != nil {
		return err
	}
	return l.read(ctx, func(_ context.Context, m *agentv1.AgentMessage) error {
		if u := m.GetUnprepared(); u != nil {
			r.cfg.Log.Warn("machine cannot be set up", "agent_id", who.Agent, "pool", who.Pool, "reason", excerpt.Message(u.GetReason()))
			r.cfg.Unprepared(who.Agent, excerpt.Message(u.GetReason()))
		}
		return nil
	})
}

// attend has a link dropped when the master stops.
func (r *RM) attend(l *link) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		r.preparing[l] = true
	}
	return r.running
}

func (r *RM) leave(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.preparing, l)
}
