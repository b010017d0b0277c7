package master

import (
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task"
)

// serverLimits is what calls may cost.
func serverLimits(l config.Limits) server.Limits {
	return server.Limits{
		Bodies: int64(l.BodyBytes), Spooled: int64(l.SpooledBytes), Streams: l.StreamsPerUser,
		Connections: l.ConnectionsInAll, ConnectionsEach: l.ConnectionsEach,
	}
}

// linkLimits is what connections of agents may cost.
func linkLimits(l config.Limits) agentrm.Limits {
	out := agentrm.DefaultLimits()
	out.Unwelcomed, out.UnwelcomedEach = l.AgentsInAll, l.AgentsEach
	return out
}

// taskLimits is what one user's tasks may take.
func taskLimits(l config.Limits) task.Limits {
	return task.Limits{Tasks: l.TasksPerUser, Contexts: int64(l.ContextsPerUser)}
}
