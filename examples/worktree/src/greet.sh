#!/bin/sh
echo "@GREETING@, $1!"
