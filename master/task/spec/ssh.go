package spec

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// sshDir is the directory in which launchers of the client's library expect the files of sshd.
const sshDir = RunDir + "/ssh"

// sshdConfig admits the allocation's own containers only. The daemon's host key is the key that it
// admits, because all containers have it.
const sshdConfig = `HostKey ` + sshDir + `/id_rsa
AuthorizedKeysFile ` + sshDir + `/authorized_keys
PidFile ` + sshDir + `/sshd.pid
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
`

const sshConfig = `Host *
  IdentityFile ` + sshDir + `/id_rsa
  IdentitiesOnly yes
  UserKnownHostsFile ` + sshDir + `/known_hosts
  LogLevel ERROR
`

// sshProgram precedes the machine's ssh on PATH, because launchers call it by name.
const sshProgram = `#!/bin/sh
exec /usr/bin/ssh -F ` + sshDir + `/ssh_config "$@"
`

// sshFiles returns the files with which the containers of an allocation start programs in each other by
// ssh. A container without siblings gets none.
func sshFiles(r Run, uid, gid int32) []*apiv1.File {
	key, err := sshKey(r)
	if err != nil {
		return nil // an earlier version placed it
	}
	private, public, err := writeKey(key)
	if err != nil {
		return nil // cannot fail for a key that was generated here
	}
	file := func(name string, mode uint32, content string) *apiv1.File {
		return &apiv1.File{Path: sshDir + "/" + name, Type: typeFile, Mode: mode, Content: []byte(content), Uid: uid, Gid: gid}
	}
	directory := func(path string) *apiv1.File {
		return &apiv1.File{Path: path, Type: typeDirectory, Mode: 0o700, Uid: uid, Gid: gid}
	}
	return []*apiv1.File{
		directory(sshDir), directory(sshDir + "/bin"),
		file("id_rsa", 0o600, private),
		file("id_rsa.pub", 0o600, public+"\n"),
		file("authorized_keys", 0o600, public+"\n"),
		file("known_hosts", 0o600, "* "+public+"\n"),
		file("sshd_config", 0o600, sshdConfig),
		file("ssh_config", 0o600, sshConfig),
		file("bin/ssh", 0o700, sshProgram),
	}
}

// sshKey returns an allocation's key. It is derived from a seed that is stored with the allocation,
// because tokens are created again with each order, so that containers of one allocation may have
// different ones.
func sshKey(r Run) (*ecdsa.PrivateKey, error) {
	if len(r.SSHSeed) == 0 {
		return nil, fmt.Errorf("allocation %s has no seed", r.Allocation)
	}
	for try := range byte(8) { // one in 2³² is not a valid key
		mac := hmac.New(sha256.New, r.SSHSeed)
		_, _ = fmt.Fprintf(mac, "ssh key %d of allocation %s", try, r.Allocation) // a hash never fails
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), mac.Sum(nil)); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("allocation %s: cannot derive a key", r.Allocation)
}

// keyType is the name of the key type in OpenSSH.
const keyType = "ecdsa-sha2-nistp256"

// writeKey returns a key in OpenSSH's format, and the line of its public half.
func writeKey(key *ecdsa.PrivateKey) (private, public string, err error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", "", err
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return "", "", err
	}
	var blob []byte
	for _, part := range [][]byte{[]byte(keyType), []byte("nistp256"), point} {
		blob = binary.BigEndian.AppendUint32(blob, uint32(len(part))) //nolint:gosec // tens of bytes
		blob = append(blob, part...)
	}
	private = string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	return private, keyType + " " + base64.StdEncoding.EncodeToString(blob), nil
}
