// Package apiv1 holds the messages of the master's HTTP API, generated from
// the .proto files beside it. On the wire they are protojson, whose rules are
// the ones that the det client expects: either spelling of a field's name,
// 64-bit integers as strings, null for an unset message.
//
// It is a leaf: everything may import it, and it imports nothing of ours.
package apiv1

// Release is the release of Determined whose API this is.
const Release = "0.38.1"
