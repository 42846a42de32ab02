// The one place that compiles Boost.JSON: everything that links core may include <boost/json.hpp> and needs no library.
#include <boost/json/src.hpp>
