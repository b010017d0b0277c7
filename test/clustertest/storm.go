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

// KillAgainAndAgain kills the master, one of the agents or both until stop is closed, from 50 ms up to pace apart, and
// returns how often.
func (c *Cluster) KillAgainAndAgain(stop <-chan struct{}, random *rand.Rand, pace time.Duration, agents ...string) (kills int) {
	for Pause(stop, 50*time.Millisecond+time.Duration(random.Int64N(int64(pace)))) {
		if random.IntN(4) > 0 { // else it may still be starting
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

// Pause waits, and returns whether stop is still open.
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

// AwaitMaster returns when the master answers, has ended by itself, or stop is closed.
// On a busy machine a master that is killed a fixed time after its start never gets
// anything done.
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

// masterAnswers asks the master once.
func (c *Cluster) masterAnswers(client *http.Client) bool {
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, c.URL+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only that there is one matters
	return true
}

// isZombie reports whether a process waits for us to take its exit code.
func isZombie(cmd *exec.Cmd) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// RestartMaster kills the master, and starts it again as it was started.
func (c *Cluster) RestartMaster() {
	Kill(c.Master)
	c.Master = c.Spawn("master", c.Master.Args[1:]...)
}

// RestartAgent kills an agent, and starts it again as it was started.
func (c *Cluster) RestartAgent(id string) {
	Kill(c.Agents[id])
	c.Agents[id] = c.Spawn("agent-"+id, c.Agents[id].Args[1:]...)
}
