package master

import (
	"context"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/server"
)

// auditAPI answers the server's questions about the audit log.
type auditAPI struct{ *audit.Log }

var _ server.Audit = auditAPI{}

// RecordEntry implements server.Audit.
func (a auditAPI) RecordEntry(ctx context.Context, e *apiv1.AuditEntry) { a.Record(ctx, e) }

// ReadEntries implements server.Audit.
func (a auditAPI) ReadEntries(ctx context.Context, q server.AuditQuery, send func(*apiv1.AuditEntry) error) error {
	return a.Read(ctx, audit.Query(q), send)
}
