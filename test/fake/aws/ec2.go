package awstest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ec2State holds the instances and volumes of a region.
type ec2State struct {
	instances *table[types.Instance]
	volumes   *table[types.Volume]
	snapshots *table[types.Snapshot]
	requests  *table[types.SpotInstanceRequest]
	keys      *table[types.KeyPairInfo]
	// machines holds the attributes of instances that describe calls do not return.
	machines map[string]*machine
	busy     map[string]time.Time // volumes and snapshots in transition, and the end of it
	tokens   map[string]string    // "op token" -> ID of the created object
	asked    map[string]string    // token -> RunInstances request
	capacity map[string]int       // "type zone" -> remaining capacity
	price    map[string]float64
}

// machine is the hidden part of an instance.
type machine struct {
	reservation string
	userData    string
	console     string
	protected   bool
	public      bool // launched with a public address
	shutdown    types.ShutdownBehavior
	// next is the state after due, or "" if the current state is final.
	next types.InstanceStateName
	due  time.Time
	// unplug is the time at which its interface is deleted, forget the time at which EC2 stops
	// listing it. Both are zero until the instance is terminated.
	unplug, forget time.Time
}

func newEC2(s *site) ec2State {
	w := s.World
	st := ec2State{
		instances: &table[types.Instance]{w: w}, volumes: &table[types.Volume]{w: w}, snapshots: &table[types.Snapshot]{w: w},
		requests: &table[types.SpotInstanceRequest]{w: w}, keys: &table[types.KeyPairInfo]{w: w},
		machines: make(map[string]*machine), busy: make(map[string]time.Time), tokens: make(map[string]string), asked: make(map[string]string),
		capacity: make(map[string]int), price: make(map[string]float64),
	}
	for _, name := range []string{"lab", "spare"} {
		id := w.id("key")
		st.keys.give(name, types.KeyPairInfo{KeyPairId: &id, KeyName: &name, KeyType: types.KeyTypeEd25519})
	}
	return st
}
