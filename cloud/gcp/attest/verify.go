package attest

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Machine is an instance launched by the master, as described by Google.
type Machine struct {
	Project, Zone, Name string
	// Number is Google's numeric ID. Another instance of the same name has a different one.
	Number uint64
	// Account is the email of the service account of the pool's instances, or empty if they have
	// none.
	Account string
}

// Machines looks up the instances launched by the master.
type Machines interface {
	// FindMachine returns an instance. It returns a NotFound error if the master has not launched
	// it or does not know it yet.
	FindMachine(ctx context.Context, name cloud.InstanceID) (Machine, error)
	// ReadGuestAttribute returns a guest attribute of an instance by its key "namespace/key". It
	// returns a NotFound error if the attribute does not exist.
	ReadGuestAttribute(ctx context.Context, m Machine, key string) (string, error)
}

// Verifier verifies proofs of both types.
//
// The identity of an instance is protected by several layers:
//
//   - A token is signed by Google and names the instance that requested it, and its numeric
//     ID, which is never reused. The instance cannot choose them.
//   - The service account must be the pool's. A user with access to the account cannot
//     create tokens with the claims of an instance.
//   - The cluster and a nonce are in the token's audience, so that a proof sent to another
//     master is invalid here. Its time is checked, too.
//   - A guest attribute can be written only on the instance, and the master reads it by the
//     name that it gave the instance. It is a commitment: a reader of the attribute cannot
//     produce the secret.
//   - The permissions granted for a proof are the caller's decision: an instance that it
//     launched may register, once. A process on the instance with access to its metadata
//     server can act as the instance.
type Verifier struct {
	Keys     *Keys
	Machines Machines
	Now      func() time.Time
}

var _ cloud.Attestor = Verifier{}

// Attest implements cloud.Attestor. It returns an Unavailable error if Google cannot be reached,
// and a NotFound error if the instance is unknown or not known yet.
func (v Verifier) Attest(ctx context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	switch proof.Kind {
	case KindToken:
		return v.attestToken(ctx, audience, proof.Data)
	case KindGuest:
		return v.attestGuest(ctx, audience, proof.Data)
	}
	return cloud.Attested{}, denied(fmt.Errorf("proof type %q is not supported", proof.Kind))
}

func denied(err error) error {
	return &cloud.Error{
		Kind: cloud.Denied, Op: "verify a proof of identity", Err: err,
		Fix: "launch agents with the service account in provider.service_account, or with none, and synchronize the machines' clocks",
	}
}

// attestToken verifies a token. It looks up the instance last, so that only tokens signed by Google
// cause API calls.
func (v Verifier) attestToken(ctx context.Context, cluster string, data []byte) (cloud.Attested, error) {
	t, err := parseToken(data)
	if err != nil {
		return cloud.Attested{}, denied(err)
	}
	key, err := v.Keys.find(ctx, t.keyID)
	if err == nil {
		err = t.checkSignature(key)
	}
	if err == nil {
		err = t.claims.check(cluster, v.Now())
	}
	if err != nil {
		return cloud.Attested{}, deniedUnlessKnown(err)
	}
	name := cloud.InstanceID(t.claims.Google.Machine.Name)
	m, err := v.Machines.FindMachine(ctx, name)
	if err != nil {
		return cloud.Attested{}, err
	}
	if err := t.claims.checkMachine(m); err != nil {
		return cloud.Attested{}, denied(err)
	}
	return cloud.Attested{Instance: name, Once: t.once()}, nil
}

// deniedUnlessKnown converts an error without a kind to a Denied error.
func deniedUnlessKnown(err error) error {
	if cloud.KindOf(err) != cloud.Unknown {
		return err
	}
	return denied(err)
}

// checkMachine compares the claims with the launched instance.
func (c claims) checkMachine(m Machine) error {
	says := c.Google.Machine
	switch {
	case m.Account == "" || c.Email != m.Account || !c.EmailVerified:
		return fmt.Errorf("it is a token of account %.80q, not of the pool's service account", c.Email)
	case says.Project != m.Project:
		return fmt.Errorf("its instance is in project %.40q, but %s is in %s", says.Project, m.Name, m.Project)
	case says.Zone != m.Zone:
		return fmt.Errorf("its instance is in zone %.40q, but %s is in %s", says.Zone, m.Name, m.Zone)
	case says.Name != m.Name:
		return fmt.Errorf("its instance is %.80q, not %s", says.Name, m.Name)
	case m.Number == 0 || says.Number.String() != strconv.FormatUint(m.Number, 10):
		return fmt.Errorf("its instance is another one named %s", m.Name)
	}
	return nil
}

// secretForm matches the secret, which is too long to be guessed.
var secretForm = nonceForm

// attestGuest verifies that the secret matches the instance's guest attribute. It rejects instances
// with a service account, which must present a token.
func (v Verifier) attestGuest(ctx context.Context, cluster string, data []byte) (cloud.Attested, error) {
	var g Guest
	if len(data) > tokenLimit || json.Unmarshal(data, &g) != nil || cluster == "" || !secretForm.MatchString(g.Secret) {
		return cloud.Attested{}, denied(errors.New("it is not an instance name with a secret"))
	}
	m, err := v.Machines.FindMachine(ctx, cloud.InstanceID(g.Name))
	switch {
	case err != nil:
		return cloud.Attested{}, err
	case m.Account != "":
		return cloud.Attested{}, denied(fmt.Errorf("instance %s has a service account and must present a token", m.Name))
	}
	written, err := v.Machines.ReadGuestAttribute(ctx, m, GuestKey)
	if err != nil && cloud.KindOf(err) != cloud.NotFound {
		return cloud.Attested{}, err
	}
	want := Commitment(cluster, g)
	if subtle.ConstantTimeCompare([]byte(written), []byte(want)) != 1 {
		return cloud.Attested{}, denied(fmt.Errorf("instance %s has another value in guest attribute %s", m.Name, GuestKey))
	}
	return cloud.Attested{Instance: cloud.InstanceID(g.Name), Once: want}, nil
}
