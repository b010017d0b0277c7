package faultproxy

import (
	"regexp"
	"time"
)

// Rule selects calls and their fault. Empty fields match all calls.
type Rule struct {
	// Service is the signing name: "ec2", "iam", "s3", "monitoring".
	Service string
	// Action and Body match the name and the body of the call. A form has one field per line,
	// "InstanceType=t3.micro", with user data decoded.
	Action, Body *regexp.Regexp
	// Skip is the number of initial calls without a fault, Count the number of calls with a fault
	// after that, 0 for all. Probability selects some of those, 0 selects all. Each counts the
	// calls of each action separately.
	Skip, Count int
	Probability float64
	Each        bool

	Effect Effect
}

func (r *Rule) matches(c Call) bool {
	return (r.Service == "" || r.Service == c.Service) &&
		(r.Action == nil || r.Action.MatchString(c.Action)) &&
		(r.Body == nil || r.Body.MatchString(c.Body))
}

// Effect is the fault of a call. Delay can be combined with the others.
type Effect struct {
	Delay time.Duration
	// Code, Message and Status are returned as an error response in the service's format.
	Code, Message string
	Status        int
	// Drop closes the connection before the call is forwarded, Lose after it was completed: the
	// response is lost or, if Status is set, replaced by that status. Hang never responds.
	Drop, Lose, Hang bool
}

// Refuse returns an error response. A status of 0 means 400.
func Refuse(status int, code, message string) Effect {
	return Effect{Status: status, Code: code, Message: message}
}

// Throttle returns a throttling error in each service's format.
func Throttle() Effect { return Effect{Code: throttled, Message: "Rate exceeded"} }

// throttled is replaced by each service's own error code for throttling.
const throttled = "Throttled"

// Drop drops the request.
func Drop() Effect { return Effect{Drop: true} }

// Lose drops the response to a completed call.
func Lose() Effect { return Effect{Lose: true} }

// LoseBehind returns a status in place of the response to a completed call, like a gateway between
// both ends.
func LoseBehind(status int) Effect { return Effect{Lose: true, Status: status} }

// Hang never responds.
func Hang() Effect { return Effect{Hang: true} }

// Delay delays the response.
func Delay(d time.Duration) Effect { return Effect{Delay: d} }

func (e Effect) name() string {
	switch {
	case e.Hang:
		return "hang"
	case e.Drop:
		return "drop"
	case e.Lose:
		return "lose"
	case e.Code != "":
		return "refuse"
	case e.Delay > 0:
		return "delay"
	}
	return ""
}
