package gang

// plenty is more of a resource than any pod requests, and small enough to be summed.
const plenty = int64(1) << 52

// placesAsNodes replaces nodes that cannot be listed: each combination of selectors, affinity and
// tolerations becomes one node of unlimited size with all pods of that combination. Rejections of
// the scheduler limit its size.
func placesAsNodes(c Cluster) Cluster {
	at := map[string]int{}
	gangs := make([]Gang, len(c.Gangs))
	c.Nodes = nil
	for i, g := range c.Gangs {
		node, known := at[g.Pod.place]
		if !known {
			node = len(c.Nodes)
			at[g.Pod.place] = node
			c.Nodes = append(c.Nodes, Node{
				ID: NodeID(g.Pod.place), place: g.Pod.place, Ready: true,
				Allocatable: Resources{}, Used: Resources{}, Own: Resources{},
			})
		}
		n := &c.Nodes[node]
		bound := g.boundPods()
		for name, amount := range g.Pod.requests {
			n.Allocatable[name] = plenty
			n.Used[name] += amount * int64(bound)
			n.Own[name] += amount * int64(bound)
		}
		if bound > 0 {
			g.Held = []Held{{Node: n.ID, Pods: bound}}
		}
		gangs[i] = g
	}
	c.Gangs = gangs
	return c
}
