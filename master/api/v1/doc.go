// Package apiv1 defines the messages of the master's HTTP API, generated from the .proto files in
// this directory. They are encoded as protojson with the rules that the det client expects: either
// spelling of a field's name, 64-bit integers as strings, null for an unset message.
//
// It imports no other package of this module.
package apiv1

// Release is the release of Determined that has this API.
const Release = "0.38.1"
