// Package bench measures how near to its limits a hub runs, side by side with what others do on the same machine in
// the same run. It is a module of its own, so that what it compares with never becomes a dependency of the product.
package bench
