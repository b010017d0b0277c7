package awstest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ec2State is the machines and disks of a region.
type ec2State struct {
	instances *table[types.Instance]
	volumes   *table[types.Volume]
	snapshots *table[types.Snapshot]
	requests  *table[types.SpotInstanceRequest]
	keys      *table[types.KeyPairInfo]
	// machines is what EC2 keeps of an instance and does not show in lists.
	machines map[string]*machine
	busy     map[string]time.Time // volumes and snapshots, until when
	tokens   map[string]string    // "op token" -> what it made
	asked    map[string]string    // token -> what RunInstances was asked for
	capacity map[string]int       // "type zone" -> how many are left
	price    map[string]float64
}

// machine is the hidden part of an instance.
type machine struct {
	reservation string
	userData    string
	console     string
	protected   bool
	public      bool // it was launched with a public address
	shutdown    types.ShutdownBehavior
	// next is the state it will be in when due comes; "" when it stays.
	next types.InstanceStateName
	due  time.Time
	// unplug is when its interface goes, forget when EC2 forgets it; zero while
	// that is not settled.
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
