package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// Transport is the reason why a request had no response.
type Transport string

// The reasons.
const (
	// Unclear means that the outcome of the request is unknown.
	Unclear Transport = ""
	// Unauthenticated means that there are no credentials: the request was not sent.
	Unauthenticated Transport = "unauthenticated"
	// Malformed means that the SDK rejected the request: it was not sent.
	Malformed Transport = "malformed"
	// Unconnected means that the connection failed: the request was not sent.
	Unconnected Transport = "unconnected"
	// Lost means that the connection was closed before a response arrived.
	Lost Transport = "lost"
)

// NeverConnected reports whether err means that no connection was established, so the request was
// not sent.
func NeverConnected(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// GaveUp reports whether the caller canceled the call or its deadline passed.
func GaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
