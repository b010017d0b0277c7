package clustertest

import (
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// KillAgainAndAgain kills the master, one of the agents or both at intervals from 50 ms to 50 ms +
// pace until stop is closed. It returns the number of kills.
func (c *Cluster) KillAgainAndAgain(stop <-chan struct{}, random *rand.Rand, pace time.Duration, agents ...string) (kills int) {
	for Pause(stop, 50*time.Millisecond+time.Duration(random.Int64N(int64(pace)))) {
		if random.IntN(4) > 0 { // otherwise it may be killed while it starts
			c.AwaitMaster(stop)
		}
		kills++
		agent := agents[random.IntN(len(agents))]
		switch random.IntN(3) {
		case 0:
			c.RestartMaster()
		case 1:
			c.RestartAgent(agent)
		case 2:
			c.RestartAgent(agent)
			c.RestartMaster()
		}
	}
	return kills
}

// Pause waits for d and reports whether stop is still open.
func Pause(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// AwaitMaster waits until the master answers, has exited, or stop is closed. On a busy machine a
// master that is killed a fixed time after each start would never make progress.
func (c *Cluster) AwaitMaster(stop <-chan struct{}) {
	client := http.Client{Timeout: time.Second}
	for {
		if c.masterAnswers(&client) || isZombie(c.Master) {
			return
		}
		if !Pause(stop, 20*time.Millisecond) {
			return
		}
	}
}

// masterAnswers reports whether the master answers one request.
func (c *Cluster) masterAnswers(client *http.Client) bool {
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, c.URL+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only its arrival matters
	return true
}

// isZombie reports whether a process has exited and was not waited for.
func isZombie(cmd *exec.Cmd) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// RestartMaster kills the master and starts it again with the same arguments.
func (c *Cluster) RestartMaster() {
	Kill(c.Master)
	c.Master = c.Spawn("master", c.Master.Args[1:]...)
}

// RestartAgent kills an agent and starts it again with the same arguments.
func (c *Cluster) RestartAgent(id string) {
	Kill(c.Agents[id])
	c.Agents[id] = c.Spawn("agent-"+id, c.Agents[id].Args[1:]...)
}
