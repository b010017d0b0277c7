package engine

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
)

var (
	errIncompatible = errors.New("incompatible types for comparison")
	errNotOrdered   = errors.New("invalid type for comparison")
	errNothing      = errors.New("missing argument for comparison")
)

// equalsAny reports whether a value is the same as one of others.
func equalsAny(a reflect.Value, others ...reflect.Value) (bool, error) {
	a = unwrapInterface(a)
	if len(others) == 0 {
		return false, errNothing
	}
	for _, b := range others {
		same, err := equals(a, unwrapInterface(b))
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// equals compares numbers by their value, where both are whole or both are not, and the
// rest as Go does. Nil is the same as nil only.
func equals(a, b reflect.Value) (bool, error) {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid(), nil
	}
	if order, err := compareWhole(a, b); err == nil {
		return order == 0, nil
	}
	switch {
	case a.CanFloat() && b.CanFloat():
		return a.Float() == b.Float(), nil
	case a.CanComplex() && b.CanComplex():
		return a.Complex() == b.Complex(), nil
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return a.String() == b.String(), nil
	case a.Kind() == reflect.Bool && b.Kind() == reflect.Bool:
		return a.Bool() == b.Bool(), nil
	case isBasic(a) != isBasic(b), isBasic(a):
		return false, errIncompatible
	case !a.Comparable() || !b.Comparable():
		return false, fmt.Errorf("non-comparable types %s: %v, %s: %v", a, a.Type(), b.Type(), b)
	}
	return a.Interface() == b.Interface(), nil
}

func isBasic(v reflect.Value) bool {
	return v.CanInt() || v.CanUint() || v.CanFloat() || v.CanComplex() || v.Kind() == reflect.String || v.Kind() == reflect.Bool
}

// compareWhole is the order of two whole numbers, with or without a sign.
func compareWhole(a, b reflect.Value) (int, error) {
	switch {
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int()), nil
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint()), nil
	case a.CanInt() && b.CanUint():
		if a.Int() < 0 {
			return -1, nil
		}
		return cmp.Compare(uint64(a.Int()), b.Uint()), nil //nolint:gosec // it is not negative
	case a.CanUint() && b.CanInt():
		if b.Int() < 0 {
			return 1, nil
		}
		return cmp.Compare(a.Uint(), uint64(b.Int())), nil //nolint:gosec // it is not negative
	}
	return 0, errIncompatible
}

// order is the order of two numbers or strings.
func order(a, b reflect.Value) (int, error) {
	a, b = unwrapInterface(a), unwrapInterface(b)
	if !isBasic(a) || !isBasic(b) || a.Kind() == reflect.Bool || a.CanComplex() {
		return 0, errNotOrdered
	}
	switch {
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float()), nil
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String()), nil
	}
	return compareWhole(a, b)
}

func less(a, b reflect.Value) (bool, error) {
	o, err := order(a, b)
	return o < 0 && err == nil, err
}

func lessOrEqual(a, b reflect.Value) (bool, error) {
	o, err := order(a, b)
	return o <= 0 && err == nil, err
}
