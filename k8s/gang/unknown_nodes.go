package gang

// plenty is more of a resource than anybody asks for, and small enough to be added up.
const plenty = int64(1) << 52

// placesAsNodes replaces nodes that must not be listed: each kind of place that
// pods ask for (selectors, affinity, tolerations) is taken for one node of any size, on
// which all pods of that kind are. What the scheduler refuses there says how large it is.
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
