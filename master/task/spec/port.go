package spec

// Port is a port at which a program listens for the other containers of its allocation. On
// the network of a machine its number is for one allocation alone.
type Port struct {
	// Variable names the number for the program.
	Variable string
	// Base is the lowest number that it may have, and the program's own default.
	Base int
	// Number is the one that it has.
	Number int
}

// TrialPorts are the ports of the client's library.
func TrialPorts() []Port {
	return []Port{
		{Variable: "DTRAIN_SSH_PORT", Base: 12350},
		{Variable: "INTER_TRAIN_PROCESS_COMM_PORT_1", Base: 12360},
		{Variable: "INTER_TRAIN_PROCESS_COMM_PORT_2", Base: 12365},
		{Variable: "C10D_PORT", Base: 29400},
	}
}

// NumberPorts gives ports their numbers; without any they have their bases, as in networks
// that each container has for itself.
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
