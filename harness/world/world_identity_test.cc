#include "harness/world/world_test_support.h"
