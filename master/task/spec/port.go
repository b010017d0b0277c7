package spec

// Port is a port at which a program listens for the other containers of its allocation. On the network
// of a machine each number is used by one allocation only.
type Port struct {
	// Variable is the variable that holds the number.
	Variable string
	// Base is the lowest possible number, and the program's own default.
	Base int
	// Number is the assigned number.
	Number int
}

// TrialPorts returns the ports of the client's library.
func TrialPorts() []Port {
	return []Port{
		{Variable: "DTRAIN_SSH_PORT", Base: 12350},
		{Variable: "INTER_TRAIN_PROCESS_COMM_PORT_1", Base: 12360},
		{Variable: "INTER_TRAIN_PROCESS_COMM_PORT_2", Base: 12365},
		{Variable: "C10D_PORT", Base: 29400},
	}
}

// NumberPorts returns ports with their numbers. Without numbers each port has its base, as in separate
// container networks.
func NumberPorts(ports []Port, numbers []int) []Port {
	out := make([]Port, len(ports))
	for i, p := range ports {
		p.Number = p.Base
		if i < len(numbers) {
			p.Number = numbers[i]
		}
		out[i] = p
	}
	return out
}
