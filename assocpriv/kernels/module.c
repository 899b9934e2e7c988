/* The module of compiled kernels. It checks the arrays' types, dimensions, order and writability, and runs a kernel
 * without the interpreter's lock. kernels/plain.py has the same functions in numpy; compiled.pyi their types.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels.h"

enum { MOST_ARRAYS = 17, MOST_NUMBERS = 5 };

/* Arrays in order, three characters each: the element's type as in struct (Q, q, i, H, B, d), the number of
 * dimensions, and w if the kernel writes to it, otherwise a blank; then the number of whole numbers.
 */
static const struct {
    const char *name, *arrays;
    int numbers;
    Kernel *run;
} KERNELS[] = {
    {"transpose_reports", "B2 Q3w", 0, transpose_reports},
    {"expand_items", "Q3 H3 Q2wQ3w", 3, expand_items},
    {"count_items", "Q3 H3 Q2wQ2 q2w", 3, count_items},
    {"fill_rows", "q1 q1 q1 Q3w", 0, fill_rows},
    {"count_supersets", "Q3 q2 q1 Q2wq1w", 0, count_supersets},
    {"count_pairs", "Q3 q1w", 3, count_pairs},
    {"tally_codes", "B2 q3 q1 q2wq1w", 0, tally_codes},
    {"parse_numbers", "B1 i1wi1wq1w", 1, parse_numbers},
    {"mixture_probabilities", "d2 d2 d1w", 0, mixture_probabilities},
    {"truncate_normals", "d1 d1 d1 d1 d1wd1wd1w", 0, truncate_normals},
    {"unrank_reports", "Q2 Q3 Q2wq1wQ3w", 0, unrank_reports},
    {"randomize_transactions", "q1 q1 Q1 Q2 q1 Q3 q1wq1wQ1wq2wQ3wq2wQ1wq2wQ2wq1w", 5, randomize_transactions},
    {"randomize_sets", "q1 q1 Q1 Q2 Q3 q2 q1 Q3 q1wq1wQ2wQ2wQ2wq1wq2wQ2wq1w", 2, randomize_sets},
    {"randomize_records", "i2 Q1 q2 q1 q1 q1 q1wq1wB2wq1w", 1, randomize_records},
};
enum { N_KERNELS = sizeof KERNELS / sizeof *KERNELS };

/* Return whether a buffer's elements have a type. numpy calls int64 l or q, by the system. */
static int has_type(const Py_buffer *view, char type)
{
    char given = view->format[0];
    const char *kinds = type == 'd' ? "d" : type == 'q' || type == 'i' ? "bhilq" : "BHILQ";
    int size = strchr("qQd", type) ? 8 : type == 'i' ? 4 : type == 'H' ? 2 : 1;
    return given && strchr(kinds, given) && !view->format[1] && view->itemsize == size;
}

static int read_array(PyObject *given, const char *type, Py_buffer *view, Array *array)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (type[2] == 'w' ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(given, view, flags) < 0)
        return -1;
    if (view->ndim != type[1] - '0' || !has_type(view, type[0])) {
        PyErr_Format(PyExc_TypeError, "an array of type %c and %c dimensions is needed, not %s and %d", type[0],
                     type[1], view->format, view->ndim);
        PyBuffer_Release(view);
        return -1;
    }
    array->data = view->buf;
    for (int axis = 0; axis < 3; axis++)
        array->shape[axis] = axis < view->ndim ? view->shape[axis] : 1;
    return 0;
}

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t n_given)
{
    long which = PyLong_AsLong(self);
    const char *types = KERNELS[which].arrays;
    int n_arrays = (int)(strlen(types) / 3), n_read = 0;
    Py_buffer views[MOST_ARRAYS];
    Array arrays[MOST_ARRAYS];
    i64 numbers[MOST_NUMBERS], result = 0;
    if (n_given != n_arrays + KERNELS[which].numbers)
        return PyErr_Format(PyExc_TypeError, "%s takes %d arguments", KERNELS[which].name,
                            n_arrays + KERNELS[which].numbers);
    while (n_read < n_arrays && read_array(given[n_read], types + 3 * n_read, views + n_read, arrays + n_read) == 0)
        n_read++;
    for (int i = 0; n_read == n_arrays && i < KERNELS[which].numbers && !PyErr_Occurred(); i++)
        numbers[i] = PyLong_AsLongLong(given[n_arrays + i]);
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS
        result = KERNELS[which].run(arrays, numbers);
        Py_END_ALLOW_THREADS
    }
    while (n_read > 0)
        PyBuffer_Release(views + --n_read);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(result);
}

static PyMethodDef methods[N_KERNELS];
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "assocpriv.kernels.compiled", NULL, -1, NULL, NULL, NULL,
                                        NULL, NULL};

PyMODINIT_FUNC PyInit_compiled(void)
{
    PyObject *module = PyModule_Create(&definition);
    for (long i = 0; module && i < N_KERNELS; i++) {
        methods[i] = (PyMethodDef){KERNELS[i].name, (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};
        PyObject *number = PyLong_FromLong(i), *function = number ? PyCFunction_New(&methods[i], number) : NULL;
        if (!function || PyModule_AddObjectRef(module, KERNELS[i].name, function) < 0)
            Py_CLEAR(module);
        Py_XDECREF(number);
        Py_XDECREF(function);
    }
    return module;
}
