package kubetest

import "strings"

// dump prints pods, jobs, events and the last lines of containers of one or all namespaces if the
// test has failed.
func (c *Cluster) dump(namespace string) {
	if !c.t.Failed() {
		return
	}
	where := []string{"--all-namespaces"}
	if namespace != "" {
		where = []string{"--namespace=" + namespace}
	}
	show := func(args ...string) string {
		out, err := c.Try(append(args, where...)...)
		if err != nil {
			out += err.Error()
		}
		return out
	}
	c.t.Logf("nodes:\n%s", tail(c.nodes(), 20))
	c.t.Logf("objects:\n%s", tail(show("get", "deployments,jobs,pods,services,pvc", "-o", "wide"), 80))
	c.t.Logf("events:\n%s", tail(show("get", "events", "--sort-by=.lastTimestamp",
		"-o", "custom-columns=AT:.lastTimestamp,KIND:.involvedObject.kind,NAME:.involvedObject.name,REASON:.reason,MESSAGE:.message"), 60))
	if c.Mode == Node {
		c.logs(show)
	}
}

func (c *Cluster) nodes() string {
	out, err := c.Try("get", "nodes")
	if err != nil {
		out += err.Error()
	}
	return out
}

// logs prints the last lines of up to ten pods.
func (c *Cluster) logs(show func(...string) string) {
	const pods = 10
	list := show("get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}")
	shown := 0
	for line := range strings.Lines(list) {
		space, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || space == "kube-system" || shown == pods {
			continue
		}
		shown++
		out, err := c.Try("logs", "--namespace="+space, name, "--all-containers", "--prefix", "--tail=25")
		if err != nil {
			out += err.Error()
		}
		c.t.Logf("logs of %s/%s:\n%s", space, name, out)
	}
}

// tail returns the first line, which has the column names, and the last n lines.
func tail(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= n {
		return text
	}
	return lines[0] + "...\n" + strings.Join(lines[len(lines)-n:], "")
}
