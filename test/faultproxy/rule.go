package faultproxy

import (
	"regexp"
	"time"
)

// Rule says which calls have a fault, and which. An empty field matches all.
type Rule struct {
	// Service is its signing name: "ec2", "iam", "s3", "monitoring".
	Service string
	// Action and Body match the name of the call and what was sent; a form has
	// one field a line, "InstanceType=t3.micro", with user data in clear.
	Action, Body *regexp.Regexp
	// Skip lets the first calls through; Count is how many are hit then, 0 for
	// all; Probability hits some of those, 0 for all. With Each, the calls of
	// each action are counted for themselves.
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

// Effect is what happens to a call. Delay may stand beside any other.
type Effect struct {
	Delay time.Duration
	// Code, Message and Status refuse the call in its service's own form.
	Code, Message string
	Status        int
	// Drop closes the connection before the call is passed on, Lose after it
	// was carried out: the reply is lost, or becomes a Status if there is one.
	// Hang never answers.
	Drop, Lose, Hang bool
}

// Refuse is a refusal. A status of 0 is 400.
func Refuse(status int, code, message string) Effect {
	return Effect{Status: status, Code: code, Message: message}
}

// Throttle refuses for having come too soon after others, in each service's own
// words.
func Throttle() Effect { return Effect{Code: throttled, Message: "Rate exceeded"} }

// throttled stands for the code that each service has for it.
const throttled = "Throttled"

// Drop loses the request.
func Drop() Effect { return Effect{Drop: true} }

// Lose loses the reply to a call that was carried out.
func Lose() Effect { return Effect{Lose: true} }

// LoseBehind answers with a status instead of the reply to a call that was carried
// out, as something between both ends does.
func LoseBehind(status int) Effect { return Effect{Lose: true, Status: status} }

// Hang never answers.
func Hang() Effect { return Effect{Hang: true} }

// Delay answers late.
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
