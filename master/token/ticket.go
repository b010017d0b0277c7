package token

import "time"

// ticketKind names the format; a new format gets a new number.
const ticketKind = "ddticket1"

// Ticket is permission to visit one service of a task on behalf of a session. It is valid as long as the
// session is, but not longer than until Expires, and gives access to nothing else.
type Ticket struct {
	Cluster string
	Service string
	Session Hash
	Expires time.Time
}

type ticketBody struct {
	Cluster string `json:"c"`
	Service string `json:"s"`
	Session Hash   `json:"h"`
	Expires int64  `json:"e"` // seconds since 1970
}

// SignTicket signs a ticket.
func (r Ring) SignTicket(t Ticket) (Text, error) {
	return r.sealToken(ticketKind, ticketBody{Cluster: t.Cluster, Service: t.Service, Session: t.Session, Expires: t.Expires.Unix()})
}

// ReadTicket verifies a ticket for a service at the time now. The caller must check the session. It
// returns ErrMalformed, ErrUnknownKey, ErrForged, ErrOtherCluster or ErrExpired; a ticket for another
// service is ErrForged.
func (r Ring) ReadTicket(t Text, cluster, service string, now time.Time) (Ticket, error) {
	var b ticketBody
	if err := r.unsealToken(ticketKind, t, &b); err != nil {
		return Ticket{}, err
	}
	expires := time.Unix(b.Expires, 0).UTC()
	switch {
	case b.Cluster != cluster:
		return Ticket{}, ErrOtherCluster
	case b.Service != service:
		return Ticket{}, ErrForged
	case !now.Before(expires):
		return Ticket{}, ErrExpired
	}
	return Ticket{Cluster: b.Cluster, Service: b.Service, Session: b.Session, Expires: expires}, nil
}
