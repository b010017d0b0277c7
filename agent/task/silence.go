package task

import "github.com/det-deploy/det-deploy/agent/lifecycle"

// Silence kills the container if the master may restart it elsewhere.
func (u *Task) Silence(why string) {
	if !u.Order.GetRerun() {
		return
	}
	u.mu.Lock()
	first := !u.state.Silent && u.state.State != lifecycle.Terminated
	u.state.Silent = u.state.Silent || first
	u.mu.Unlock()
	if first {
		u.Log.Warn("killing a preemptible container; the master starts it elsewhere", "because", why)
		u.RequestEnd(false, 0)
	}
}

// orSilenced replaces the exit of a container that Silence killed, because its exit code is not
// from the program.
func (u *Task) orSilenced(exit lifecycle.Exit) lifecycle.Exit {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.state.Silent || exit.Kind == lifecycle.Exited && exit.Code != killedCode {
		return exit
	}
	return lifecycle.Exit{Kind: lifecycle.Lost, Silent: true, Message: "the agent had no answer from the master for the reconnect wait and killed the container, which is restarted elsewhere"}
}

// killedCode is the exit code of a process killed by SIGKILL, as in shells.
const killedCode = 128 + 9
